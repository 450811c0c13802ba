(* The full model: every product that is offloaded is masked, the rest is Charlie's.
   Chapter: model.

   A model is a program of Charlie's that asks for products, one after the other, and computes
   anything he likes from the results: the next activation, an output, what to do when a session
   breaks. This file says what the unsplit integer model makes of it; Session.v runs it by the
   protocol. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking Linear.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* -------------------------------------------------------------------- a chain of layers *)
Section Chain.
Variables (L t b : nat) (d k B_q : nat -> nat).
Variables (W_D : forall i, 'M[int]_(d i.+1, d i)).
Variables (A : forall i, 'M[int]_(d i.+1, k i)) (B : forall i, 'M[int]_(k i, d i)).
(* What Charlie does between two products, quantisation included. *)
Variable sigma : forall i, 'M[int]_(d i.+1, b) -> 'M[int]_(d i.+1, b).
Variable input : 'M[int]_(d 0, b).
Variable r : forall i, 'M['Z_L]_(d i, b).

(* a_0 = input, a_(i+1) = sigma_i (W_i a_i). *)
Fixpoint unsplit_activation (T : nat) : 'M[int]_(d T, b) :=
  if T is T'.+1
  then sigma (integer_model t (W_D T') (A T') (B T') *m unsplit_activation T')
  else input.

(* The same with each product by the protocol; a non-sensitive layer has k = 0. *)
Fixpoint hybrid_activation (T : nat) : 'M[int]_(d T, b) :=
  if T is T'.+1
  then sigma (exchange t (W_D T') (A T') (B T') (hybrid_activation T') (r T'))
  else input.

Lemma chain_correct T :
  (1 < L)%N ->
  (forall i, (i < T)%N -> (2 * static_bound (B_q i) (W_D i) + 1 <= L)%N) ->
  within (B_q 0) input ->
  (forall i (z : 'M[int]_(d i.+1, b)), (i < T)%N -> within (B_q i.+1) (sigma z)) ->
  hybrid_activation T = unsplit_activation T.
Proof.
move=> L_gt1; elim: T => [//|T IH] L_ge input_in sigma_in /=.
have sigma_in' i (z : 'M[int]_(d i.+1, b)) : (i < T)%N -> within (B_q i.+1) (sigma z).
  by move=> i_lt; apply: sigma_in; apply: ltnW.
have e := IH (fun i i_lt => L_ge i (ltnW i_lt)) input_in sigma_in'.
have a_in : within (B_q T) (hybrid_activation T).
  by rewrite e; case: (T) sigma_in' => [//|T'] /= h; apply: h.
by rewrite (layer_correct _ _ _ (r T) L_gt1 (L_ge T (ltnSn T)) a_in) e.
Qed.
End Chain.

(* ------------------------------------------------------------------- any program of Charlie's *)
Section Program.
Variables (G : finType) (M N : G -> nat) (In Out : Type).

(* Call g q next broken: ask for group g on the columns q and go on with next of the product, or
   with broken if the session ends before that. Answer out next: give the output out to the user and
   go on with next of his next input. Renew next: end the session and open another. *)
Inductive program : Type :=
  | Stop
  | Call (g : G) (b : nat) (q : 'M[int]_(N g, b)) (next : 'M[int]_(M g, b) -> program)
         (broken : program)
  | Answer (out : Out) (next : In -> program)
  | Renew (next : program).

(* What Charlie keeps of the model: for each group the factors of the low rank part. *)
Record factors : Type := Factors {
  rank : G -> nat;
  left_factor : forall g, 'M[int]_(M g, rank g);
  right_factor : forall g, 'M[int]_(rank g, N g)
}.

Variables (t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (C : factors).

(* The unsplit model's product. *)
Definition unsplit_product g b (q : 'M[int]_(N g, b)) : 'M[int]_(M g, b) :=
  integer_model t (W_D g) (left_factor C g) (right_factor C g) *m q.

(* Every activation of the unsplit model is within its group's bound, whatever the inputs are and
   wherever sessions break. *)
Fixpoint admissible (B_q : G -> nat) (p : program) : Prop :=
  match p with
  | Stop => True
  | Call g b q next broken =>
      [/\ within (B_q g) q, admissible B_q (next (unsplit_product q)) & admissible B_q broken]
  | Answer out next => forall i, admissible B_q (next i)
  | Renew next => admissible B_q next
  end.
End Program.
