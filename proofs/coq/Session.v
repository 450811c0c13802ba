(* A whole run: what David sees. Chapters: session, threat-model.

   The schedule is fixed: how many messages there are, and the shape of each. Everything else is
   free. Charlie's activations may depend on his secrets, on all earlier masks and on all earlier
   replies, as they do when he unmasks; David is any state machine, and his replies are his choice.
     *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Run.
Variable L : nat.
(* Message t has n t entries a column and b t columns; its reply has m t entries a column. *)
Variables (n b m : nat -> nat).

(* The first T masks, or the first T masked messages: a matrix of residues for each t < T. *)
Fixpoint messages (T : nat) : finType :=
  if T is T'.+1
  then [finType of (messages T' * 'M['Z_L]_(n T', b T'))%type]
  else [finType of unit].

(* The first T replies. *)
Fixpoint replies (T : nat) : Type :=
  if T is T'.+1 then (replies T' * 'M['Z_L]_(m T', b T'))%type else unit.

(* The number of residues in the first T messages. *)
Definition residues (T : nat) : nat := (\sum_(t < T) n t * b t)%N.

(* David: a state, how a message changes it, and what he replies. His first state may depend on
   coins and on knowledge of his own. *)
Record david_machine (Delta : Type) := DavidMachine {
  david_state : Type;
  david_start : Delta -> david_state;
  david_next : forall t, david_state -> 'M['Z_L]_(n t, b t) -> david_state;
  david_reply : forall t, david_state -> 'M['Z_L]_(n t, b t) -> 'M['Z_L]_(m t, b t)
}.

(* Charlie: the activation of message t from his secrets, the earlier masks, the earlier replies. *)
Definition charlie_program (Omega : Type) :=
  forall t, Omega -> messages t -> replies t -> 'M[int]_(n t, b t).

Section Fixed.
Variables (Omega Delta : Type) (charlie : charlie_program Omega) (david : david_machine Delta).
Variables (omega : Omega) (delta : Delta).

(* The messages that David receives, his replies, and his state, given the masks. *)
Fixpoint run (T : nat) : messages T -> messages T * replies T * david_state david :=
  if T is T'.+1
  then fun r : messages T'.+1 =>
    let: (x, y, state) := run r.1 in
    let x_t := mask (charlie omega r.1 y) r.2 in
    ((x, x_t), (y, david_reply state x_t), david_next state x_t)
  else fun r => (r, tt, david_start david delta).

Definition view (T : nat) (r : messages T) : messages T := (run r).1.1.

(* For all that Charlie and David may be, the masks and the view determine each other. *)
Lemma view_injective T : injective (@view T).
Proof.
elim: T => [|T IH] //= [r r_t] [r' r'_t]; rewrite /view /=.
have view_r : (run r).1.1 = view r by []; have view_r' : (run r').1.1 = view r' by [].
case e: (run r) => [[x y] state] /=; case e': (run r') => [[x' y'] state'] /= [ex].
move: view_r view_r'; rewrite e e' /= => view_r view_r'.
have er : r = r' by apply: IH; rewrite -view_r -view_r' ex.
move: e; rewrite er e' => -[_ <- _] /mask_injective <-.
by [].
Qed.
End Fixed.

Lemma card_messages T : (1 < L)%N -> #|messages T| = (L ^ residues T)%N.
Proof.
move=> L_gt1; rewrite /residues; elim: T => [|T IH]; first by rewrite big_ord0 card_unit.
by rewrite /= card_prod IH card_mx card_Zp_L // big_ord_recr expnD.
Qed.

(* The joint law of all that is not a mask and of David's view. *)
Lemma view_joint_law (Omega Delta : finType) (mu : Omega * Delta -> rat)
    (charlie : charlie_program Omega) (david : david_machine Delta) (T : nat)
    (J : pred (Omega * Delta * messages T)) :
  Pr (independent mu (@uniform _)) (fun z => J (z.1, view charlie david z.1.1 z.1.2 z.2))
    = Pr (independent mu (@uniform _)) J.
Proof.
apply: (@one_time_pad _ _ _ mu (fun a => @view _ _ charlie david a.1 a.2 T) J) => // a.
exact: view_injective.
Qed.

Lemma view_probability (Omega Delta : finType) (mu : Omega * Delta -> rat)
    (charlie : charlie_program Omega) (david : david_machine Delta) (T : nat)
    (E : pred (Omega * Delta)) (v : messages T) :
  (1 < L)%N ->
  Pr (independent mu (@uniform _))
     (fun z => E z.1 && (view charlie david z.1.1 z.1.2 z.2 == v))
    = Pr mu E / (L ^ residues T)%:R.
Proof.
move=> L_gt1; rewrite (view_joint_law mu charlie david (fun z => E z.1 && (z.2 == v))).
rewrite (Pr_independent_prod mu _ E (fun y => y == v)) Pr_uniform card_messages //.
by rewrite (eq_card (fun y => erefl : (y \in fun z => z == v) = (y \in pred1 v))) card1 mul1r.
Qed.

Lemma view_with_abort (Omega Delta : finType) (mu : Omega * Delta -> rat)
    (charlie : charlie_program Omega) (david : david_machine Delta) (T : nat)
    (goes_on : Omega * Delta -> messages T -> bool) (w : Omega * Delta) (v : messages T) :
  (1 < L)%N ->
  Pr (independent mu (@uniform _))
     (fun z => let x := view charlie david z.1.1 z.1.2 z.2 in
               (z.1 == w) && (x == v) && goes_on z.1 x)
    = if goes_on w v then mu w / (L ^ residues T)%:R else 0.
Proof.
move=> L_gt1.
rewrite (view_joint_law mu charlie david
           (fun z => (z.1 == w) && (z.2 == v) && goes_on z.1 z.2)).
case g: (goes_on w v).
  rewrite (@eq_Pr _ _ _ (fun z => z == (w, v))); last first.
    case=> w' v' /=; rewrite xpair_eqE.
    by case: eqP => [->|] //=; case: eqP => [->|] //=; rewrite g.
  by rewrite /Pr big_pred1_eq /independent /uniform /= card_messages.
rewrite (@eq_Pr _ _ _ xpred0); first by rewrite /Pr big_pred0_eq.
by case=> w' v' /=; case: eqP => [->|] //=; case: eqP => [->|] //=; rewrite g.
Qed.
End Run.
