(* The full model: every product that is offloaded is masked, the rest is Charlie's.
   Chapter: model.

   A model is a program of Charlie's that asks for products, one after the other, and computes
   anything he likes from the results: the next activation, when to stop, the output. Two engines
   run the same program: the unsplit one multiplies by W_int, the hybrid one runs the protocol. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Integrity.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* -------------------------------------------------------------------- a chain of layers *)
Section Chain.
Variables (L t b : nat) (d k qa : nat -> nat).
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
  (forall i, (i < T)%N -> (2 * static_bound (qa i) (W_D i) + 1 <= L)%N) ->
  within (qa 0) input ->
  (forall i (z : 'M[int]_(d i.+1, b)), (i < T)%N -> within (qa i.+1) (sigma z)) ->
  hybrid_activation T = unsplit_activation T.
Proof.
move=> L_gt1; elim: T => [//|T IH] L_ge input_in sigma_in /=.
have sigma_in' i (z : 'M[int]_(d i.+1, b)) : (i < T)%N -> within (qa i.+1) (sigma z).
  by move=> i_lt; apply: sigma_in; apply: ltnW.
have e := IH (fun i i_lt => L_ge i (ltnW i_lt)) input_in sigma_in'.
have a_in : within (qa T) (hybrid_activation T).
  by rewrite e; case: (T) sigma_in' => [//|T'] /= h; apply: h.
by rewrite (layer_correct _ _ _ (r T) L_gt1 (L_ge T (ltnSn T)) a_in) e.
Qed.
End Chain.

(* ------------------------------------------------------------------- any program of Charlie's *)
Section Program.
Variables (G : finType) (M N : G -> nat) (Out : eqType).

(* Call g q next: ask for group g on the columns q, go on with next of the product. *)
Inductive program : Type :=
  | Return of Out
  | Call (g : G) (b : nat) (q : 'M[int]_(N g, b)) (next : 'M[int]_(M g, b) -> program).

Variables (t : nat) (k : G -> nat).
Variables (W_D : forall g, 'M[int]_(M g, N g)).
Variables (A : forall g, 'M[int]_(M g, k g)) (B : forall g, 'M[int]_(k g, N g)).
Notation W_int g := (integer_model t (W_D g) (A g) (B g)).

Fixpoint run_unsplit (p : program) : Out :=
  match p with
  | Return out => out
  | Call g b q next => run_unsplit (next (W_int g *m q))
  end.

(* Every activation of the unsplit run is within its group's bound. *)
Fixpoint admissible (qa : G -> nat) (p : program) : Prop :=
  match p with
  | Return _ => True
  | Call g b q next => within (qa g) q /\ admissible qa (next (W_int g *m q))
  end.

(* A mask for each message: the step, the group, the number of columns. *)
Definition mask_supply (L : nat) := nat -> forall g b, 'M['Z_L]_(N g, b).

Fixpoint run_hybrid (L : nat) (masks : mask_supply L) (step : nat) (p : program) : Out :=
  match p with
  | Return out => out
  | Call g b q next =>
      run_hybrid masks step.+1
        (next (exchange t (W_D g) (A g) (B g) q (masks step g b)))
  end.

Lemma run_hybrid_correct L qa (masks : mask_supply L) step p :
  (1 < L)%N -> (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= L)%N) ->
  admissible qa p -> run_hybrid masks step p = run_unsplit p.
Proof.
move=> L_gt1 L_ge; elim: p step => [//|g b q next IH] step /= [q_in next_in].
by rewrite (layer_correct _ _ _ (masks step g b) L_gt1 (L_ge g) q_in) IH.
Qed.

(* ------------------------------------------------------------------ with the check, any David *)
Section Checked.
Variables (prime_L kappa : nat).
Hypothesis L_prime : prime prime_L.
Notation F := [finFieldType of 'F_prime_L].
Notation L := (pdiv prime_L).
Notation W_F := (fun g => embed_mx L (W_D g) : 'M[F]_(M g, N g)).

Notation history := (@history F G M N).
Notation message := (@message F G N).

Variable masks : mask_supply L.
Variable david : history -> forall x : message, reply M x.

(* Check before unmasking; a reject ends the run without an output. *)
Fixpoint run_checked (rho : secrets F kappa M) (step : nat) (h : history) (p : program) :
    option Out :=
  match p with
  | Return out => Some out
  | Call g b q next =>
      let r := masks step g b in
      let x := @Message F G N g b (mask q r) in
      let y := david h x in
      if verdict W_F rho y
      then run_checked rho step.+1 (rcons h (existT _ x y))
             (next (charlie_sum t (A g) (B g) (unmask (y : 'M['Z_L]_(M g, b)) (cancellation (W_D g)
               r)) q))
      else None
  end.

Lemma L_gt1 : (1 < L)%N.
Proof. by rewrite pdiv_id // prime_gt1. Qed.
Lemma card_F : #|F| = prime_L.
Proof. exact: card_Fp. Qed.


Variable qa : G -> nat.
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.

(* The run ends with an output, and the output is not the unsplit model's. *)
Definition wrong_output (p : program) (result : option Out) : bool :=
  if result is Some out then out != run_unsplit p else false.

Lemma right_exchange g b (q : 'M[int]_(N g, b)) (r : 'M['Z_L]_(N g, b)) :
  within (qa g) q ->
  charlie_sum t (A g) (B g)
    (unmask (right_reply W_F (@Message F G N g b (mask q r)) : 'M['Z_L]_(M g, b))
            (cancellation (W_D g) r)) q = W_int g *m q.
Proof.
move=> q_in; have L_ge_g : (2 * static_bound (qa g) (W_D g) + 1 <= L)%N by rewrite pdiv_id.
exact: (layer_correct t (A g) (B g) r L_gt1 L_ge_g q_in).
Qed.

Lemma run_checked_sound p step h : admissible qa p ->
  Pr (@uniform [finType of secrets F kappa M])
     (fun rho => wrong_output p (run_checked rho step h p)) <= (prime_L%:R ^+ kappa)^-1.
Proof.
have -> : (prime_L%:R ^+ kappa)^-1 = (#|F|%:R ^+ kappa)^-1 :> rat by rewrite card_F.
have bound_ge0 : 0 <= (#|F|%:R ^+ kappa)^-1 :> rat by rewrite invr_ge0 exprn_ge0 ?ler0n.
elim: p step h => [out|g b q next IH] step h /= adm.
  by rewrite Pr_never // => rho; apply: negbTE; rewrite negbK.
case: adm => q_in next_in; set x := Message _; set y := david h x.
case: (eqVneq y (right_reply W_F x)) => [right|wrong].
  apply: le_trans (IH _ step.+1 (rcons h (existT _ x y)) next_in).
  apply: Pr_le => [rho|rho]; first exact: uniform_ge0.
  have accepted : verdict W_F rho y by rewrite right verdict_right.
  by rewrite accepted [unmask y _](congr1 (fun z => unmask z _) right) right_exchange.
apply: le_trans (verdict_wrong kappa wrong).
apply: Pr_le => [rho|rho]; first exact: uniform_ge0.
by case: (verdict _ _ _).
Qed.
End Checked.

(* A David who follows the protocol. *)
Definition honest (prime_L : nat) :
    @history [finFieldType of 'F_prime_L] G M N ->
    forall x : @message [finFieldType of 'F_prime_L] G N, reply M x :=
  fun _ x => right_reply (fun g => embed_mx (pdiv prime_L) (W_D g)) x.

Lemma run_checked_complete prime_L kappa (masks : mask_supply (pdiv prime_L)) qa
    (rho : secrets [finFieldType of 'F_prime_L] kappa M) step h p :
  prime prime_L -> (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N) ->
  admissible qa p ->
  run_checked masks (@honest prime_L) rho step h p = Some (run_unsplit p).
Proof.
move=> L_prime L_ge; elim: p step h => [//|g b q next IH] step h /= [q_in next_in].
rewrite verdict_right (right_exchange L_prime L_ge) //.
exact: IH.
Qed.
End Program.
