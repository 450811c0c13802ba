(* Sessions: Charlie, who checks every reply, against an environment that decides everything else.
   Chapters: session, integrity, threat-model.

   One object is the protocol: `real`. Beside it stands what the protocol is as good as: `ideal`, in
   which the products are the unsplit model's and the messages are made up by a simulator. The
   environment is David, the user who gives inputs and reads outputs, and the network, all in one:
   it sees every message, verdict and output, and decides every reply and input. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Integrity Model.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Arguments chance : simpl never.

Section Sessions.
Variables (G : finType) (M N : G -> nat) (In Out : Type).
Variables (prime_L kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)).
Notation F := [finFieldType of 'F_prime_L].
Notation L := (pdiv prime_L).
Notation message := (@message F G N).
Notation reply x := (@reply F G M N x).
Notation secrets := (@secrets F kappa G M).
Notation program := (@program G M N In Out).
Notation factors := (@factors G M N).

(* W_D over the field, the right reply, and the verdict with rho. *)
Definition W_F g : 'M[F]_(M g, N g) := embed_mx L (W_D g).
Definition right (x : message) : reply x := right_reply W_F x.

(* What happens, as the environment sees it. Accepted and Rejected: a message, David's reply to it,
   and the verdict. Lost: a message to which no reply came. Renewed: Charlie ended the session and
   opened another. Answered: an output, and the input that was given after it. *)
Inductive event : Type :=
  | Accepted (x : message) (y : reply x)
  | Rejected (x : message) (y : reply x)
  | Lost (x : message)
  | Renewed
  | Answered (out : Out) (input : In).
Definition transcript := seq event.

(* Its decisions depend on all that happened before; its coins are outside. No reply: it lets the
   connection break. *)
Record environment : Type := Environment {
  david : transcript -> forall x : message, option (reply x);
  user : transcript -> Out -> In
}.

(* What a mask, and a message, is drawn from. *)
Definition masks g b : finType := [finType of 'M['Z_L]_(N g, b)].

(* Charlie's side of a message: he masks q with r. If y is accepted he unmasks it and adds his own
   part; check before unmasking. *)
Definition masked g b (q : 'M[int]_(N g, b)) (r : masks g b) : message :=
  @Message F G N g b (mask q r).
Definition unmasked (C : factors) g b (q : 'M[int]_(N g, b)) (r : masks g b)
    (y : 'M['Z_L]_(M g, b)) : 'M[int]_(M g, b) :=
  charlie_sum t (left_factor C g) (right_factor C g) (unmask y (cancellation (W_D g) r)) q.

(* ---------------------------------------------------------------------------------- protocol *)
Section Real.
Variables (e : environment) (C : factors).

(* Every message has a fresh mask. A session ends when its message is lost, at the first reject, and
   when Charlie renews it; the next one has a fresh rho. Q is the number of rejects that Charlie
   lives through: after the Qth he sends no message. The result is every rho that was drawn, and
   what the environment saw. *)
Fixpoint real (Q : nat) (past : seq secrets) (rho : secrets) (h : transcript) (p : program) :
    random (seq secrets * transcript) :=
  match p with
  | Stop => Known (rcons past rho, h)
  | Answer out next =>
      let i := user e h out in real Q past rho (rcons h (Answered out i)) (next i)
  | Renew next =>
      Draw (fun rho' : secrets =>
        real Q (rcons past rho) rho' (rcons h Renewed) next)
  | Call g b q next broken =>
      if Q isn't Q'.+1 then Known (rcons past rho, h) else
      Draw (fun r : masks g b =>
        let x := masked q r in
        match david e h x with
        | None =>
            Draw (fun rho' : secrets =>
              real Q (rcons past rho) rho' (rcons h (Lost x)) broken)
        | Some y =>
            if verdict W_F rho y
            then real Q past rho (rcons h (Accepted y)) (next (unmasked C q r y))
            else Draw (fun rho' : secrets =>
                   real Q' (rcons past rho) rho' (rcons h (Rejected y)) broken)
        end)
  end.

Definition real_run (Q : nat) (p : program) : random (seq secrets * transcript) :=
  Draw (fun rho : secrets => real Q [::] rho [::] p).
End Real.

(* ------------------------------------------------------------------------------------- ideal *)
(* A simulator plays Charlie's side of the messages. Its type says what it is told: the group and
   the number of columns of a message, and the reply to it. *)
Record simulator : Type := Simulator {
  offer : forall g b, random (masks g b);
  judge : forall x : message, reply x -> bool
}.

(* Uniform residues, and the end of the session at the first wrong reply. It knows W_D. *)
Definition blind : simulator :=
  Simulator (fun g b => Draw (fun v : masks g b => Known v))
            (fun x y => y == right x).

Section Ideal.
Variables (S : simulator) (e : environment) (C : factors).

(* The functionality computes with the unsplit model, and releases the schedule step by step. *)
Fixpoint ideal (Q : nat) (h : transcript) (p : program) : random transcript :=
  match p with
  | Stop => Known h
  | Answer out next => let i := user e h out in ideal Q (rcons h (Answered out i)) (next i)
  | Renew next => ideal Q (rcons h Renewed) next
  | Call g b q next broken =>
      if Q isn't Q'.+1 then Known h else
      bind (offer S g b) (fun v =>
        let x := @Message F G N g b v in
        match david e h x with
        | None => ideal Q (rcons h (Lost x)) broken
        | Some y =>
            if judge S y
            then ideal Q (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
            else ideal Q' (rcons h (Rejected y)) broken
        end)
  end.

Definition ideal_run (Q : nat) (p : program) : random transcript := ideal Q [::] p.
End Ideal.

(* -------------------------------------------------------------------------------- simulation *)
Section Simulation.
Hypothesis L_prime : prime prime_L.
Variables (e : environment) (C : factors) (qa : G -> nat).
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.
Notation passing := ((prime_L%:R ^+ kappa)^-1 : rat).
Notation average_rho f := (\sum_(rho : secrets) uniform rho * f rho).

Lemma L_gt1 : (1 < L)%N.
Proof. by rewrite pdiv_id // prime_gt1. Qed.

Lemma card_F : #|F| = prime_L.
Proof. exact: card_Fp. Qed.

Lemma passing_F : passing = (#|F|%:R ^+ kappa)^-1.
Proof. by rewrite card_F. Qed.

Lemma passing_ge0 : 0 <= passing.
Proof. by rewrite invr_ge0 exprn_ge0 ?ler0n. Qed.

Lemma uniform_secrets : distribution (@uniform secrets).
Proof. exact/uniform_distribution/card_secrets_gt0. Qed.

Lemma uniform_masks g b : distribution (@uniform (masks g b)).
Proof. by apply: uniform_distribution; apply/card_gt0P; exists 0. Qed.

(* The right reply is unmasked to the unsplit model's product. *)
Lemma unmasked_right g b (q : 'M[int]_(N g, b)) (r : masks g b) :
  within (qa g) q -> unmasked C q r (right (masked q r)) = unsplit_product t W_D C q.
Proof.
move=> q_in; have L_ge_g : (2 * static_bound (qa g) (W_D g) + 1 <= L)%N by rewrite pdiv_id.
exact: (layer_correct t (left_factor C g) (right_factor C g) r L_gt1 L_ge_g q_in).
Qed.

Lemma card_masks g b : #|masks g b| = (prime_L ^ (N g * b))%N.
Proof. by rewrite card_mx card_Zp_L ?L_gt1 // pdiv_id. Qed.

(* What is drawn first does not matter. *)
Lemma average_swap (X Y : finType) (f : X -> Y -> rat) :
  \sum_x uniform x * (\sum_y uniform y * f x y) = \sum_y uniform y * (\sum_x uniform x * f x y).
Proof.
under eq_bigr do rewrite mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => y _.
by rewrite mulr_sumr; apply: eq_bigr => x _; rewrite mulrCA.
Qed.

(* What the environment sees does not depend on the record of earlier rhos. *)
Lemma real_past (E : transcript -> bool) p Q past past' rho h :
  chance (fun z => E z.2) (real e C Q past rho h p)
    = chance (fun z => E z.2) (real e C Q past' rho h p).
Proof.
elim: p Q past past' rho h =>
  [|g b q next IHn broken IHb|out next IH|next IH] Q past past' rho h //=.
  case: Q => [//|Q]; rewrite !chance_draw; apply: eq_bigr => r _; congr (_ * _).
  have renewed Q' h' : chance (fun z => E z.2)
        (Draw (fun rho' : secrets => real e C Q' (rcons past rho) rho' h' broken))
      = chance (fun z => E z.2)
        (Draw (fun rho' : secrets => real e C Q' (rcons past' rho) rho' h' broken)).
    by rewrite !chance_draw; apply: eq_bigr => rho' _; congr (_ * _); apply: IHb.
  by case: (david e h _) => [y|] //; case: ifP.
by rewrite !chance_draw; apply: eq_bigr => rho' _; congr (_ * _); apply: IH.
Qed.

(* The mask is uniform, so the message is. *)
Lemma average_message g b (q : 'M[int]_(N g, b)) (f : message -> rat) :
  \sum_(v : masks g b) uniform v * f (@Message F G N g b v)
    = \sum_(r : masks g b) uniform r * f (masked q r).
Proof. by rewrite (reindex (mask q)) //; exact/onW_bij/mask_bijective. Qed.

(* A wrong reply passes, and what follows is anything, or it does not, and what follows is v. *)
Lemma average_wrong (x : message) (y : reply x) (f : secrets -> rat) (v w c : rat) :
  y != right x -> (forall rho, 0 <= f rho <= 1) -> 0 <= v <= 1 -> `|v - w| <= c ->
  `|average_rho (fun rho => if verdict W_F rho y then f rho else v) - w| <= passing + c.
Proof.
move=> wrong f01 /andP[v_ge0 v_le1] close.
have split : average_rho (fun rho => if verdict W_F rho y then f rho else v)
    = average_rho (fun rho => if verdict W_F rho y then f rho - v else 0) + v.
  have [_ total] := uniform_secrets; rewrite -[X in _ + X]mul1r -total mulr_suml -big_split /=.
  by apply: eq_bigr => rho _; rewrite -mulrDr; case: ifP => _; rewrite ?subrK ?add0r.
rewrite split -addrA; apply: le_trans (ler_norm_add _ _) _; apply: ler_add close.
apply: le_trans (ler_norm_sum _ _ _) _; rewrite passing_F.
apply: le_trans (verdict_wrong kappa wrong); rewrite /Pr [X in _ <= X]big_mkcond /=.
apply: ler_sum => rho _; have u_ge0 := uniform_ge0 rho; case: ifP => _; last first.
  by rewrite mulr0 normr0.
rewrite normrM ger0_norm // -[X in _ <= X]mulr1 ler_wpmul2l // ler_norml.
have /andP[f_ge0 f_le1] := f01 rho; rewrite ler_subl_addr ler_subr_addl.
by rewrite (le_trans f_le1) ?ler_addl // (le_trans _ f_ge0) // subr_le0.
Qed.

Theorem real_ideal (E : transcript -> bool) p Q past h : admissible t W_D C qa p ->
  `|average_rho (fun rho => chance (fun z => E z.2) (real e C Q past rho h p))
    - chance E (ideal blind e C Q h p)| <= Q%:R * passing.
Proof.
elim: p Q past h => [|g b q next IHnext broken IHbroken|out next IH|next IH] Q past h /=.
- move=> _; rewrite (average_same (card_secrets_gt0 F kappa M) (a := (E h)%:R)) // subrr normr0.
  by rewrite mulr_ge0 ?ler0n ?passing_ge0.
- case=> q_in next_in broken_in; case: Q => [|Q].
    rewrite (average_same (card_secrets_gt0 F kappa M) (a := (E h)%:R)) // subrr normr0.
    by rewrite mul0r.
  pose step x := match david e h x with
    | None => ideal blind e C Q.+1 (rcons h (Lost x)) broken
    | Some y =>
        if y == right x
        then ideal blind e C Q.+1 (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
        else ideal blind e C Q (rcons h (Rejected y)) broken
    end.
  rewrite chance_draw (average_message q (fun x => chance E (step x))).
  under eq_bigr do rewrite chance_draw; rewrite average_swap.
  have renewed Q' h' : average_rho (fun rho => chance (fun z => E z.2)
        (Draw (fun rho' : secrets => real e C Q' (rcons past rho) rho' h' broken)))
      = average_rho (fun rho' => chance (fun z => E z.2) (real e C Q' [::] rho' h' broken)).
    apply: average_same (card_secrets_gt0 F kappa M) _ => rho; rewrite chance_draw.
    by apply: eq_bigr => rho' _; rewrite (real_past E broken Q' _ [::]).
  apply: (average_close (uniform_masks g b)) => r; rewrite /step.
  case: (david e h (masked q r)) => [y|]; last by rewrite renewed; apply: IHbroken.
  case: (eqVneq y (right (masked q r))) => [->|wrong].
    under eq_bigr do rewrite verdict_right (unmasked_right r q_in).
    exact: IHnext.
  rewrite mulrS mulrDl mul1r; set w := chance E _.
  have close := IHbroken Q [::] (rcons h (Rejected y)) broken_in; rewrite -/w in close.
  rewrite -[X in `|X - w|](_ : average_rho (fun rho => if verdict W_F rho y
      then chance (fun z => E z.2) (real e C Q.+1 past rho (rcons h (Accepted y))
             (next (unmasked C q r y)))
      else average_rho (fun rho' =>
             chance (fun z => E z.2) (real e C Q [::] rho' (rcons h (Rejected y)) broken))) = _).
    apply: average_wrong wrong _ _ close => [rho|]; first by rewrite chance_ge0 chance_le1.
    rewrite sumr_ge0 => [|rho _]; last by rewrite mulr_ge0 ?uniform_ge0 ?chance_ge0.
    have [_ <-] := uniform_secrets; apply: ler_sum => rho _.
    by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?uniform_ge0 ?chance_le1.
  apply: eq_bigr => rho _; case: ifP => // _; rewrite chance_draw; congr (_ * _).
  by apply: eq_bigr => rho' _; rewrite (real_past E broken Q _ [::]).
- by move=> in_all; apply: IH.
- move=> next_in; under eq_bigr do rewrite chance_draw.
  rewrite (average_same (card_secrets_gt0 F kappa M) (a := average_rho (fun rho' =>
    chance (fun z => E z.2) (real e C Q [::] rho' (rcons h Renewed) next)))); first exact: IH.
  by move=> rho; apply: eq_bigr => rho' _; rewrite (real_past E next Q _ [::]).
Qed.

(* With David always right, or silent, rho has nothing to miss: the two are the same. *)
Definition truthful : Prop := forall h x y, david e h x = Some y -> y = right x.

Lemma real_truthful (E : transcript -> bool) p Q past rho h : truthful -> admissible t W_D C qa p ->
  chance (fun z => E z.2) (real e C Q past rho h p) = chance E (ideal blind e C Q h p).
Proof.
move=> truth.
elim: p Q past rho h => [|g b q next IHn broken IHb|out next IH|next IH] Q past rho h //=.
- case=> q_in next_in broken_in; case: Q => [//|Q].
  pose step x := match david e h x with
    | None => ideal blind e C Q.+1 (rcons h (Lost x)) broken
    | Some y =>
        if y == right x
        then ideal blind e C Q.+1 (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
        else ideal blind e C Q (rcons h (Rejected y)) broken
    end.
  rewrite !chance_draw (average_message q (fun x => chance E (step x))).
  apply: eq_bigr => r _; congr (_ * _); rewrite /step.
  case d: (david e h (masked q r)) => [y|]; last first.
    rewrite chance_draw; apply: average_same (card_secrets_gt0 F kappa M) _ => rho'.
    exact: IHb.
  by rewrite (truth _ _ _ d) verdict_right eqxx (unmasked_right r q_in) IHn.
- by move=> in_all; apply: IH.
move=> next_in; rewrite chance_draw; apply: average_same (card_secrets_gt0 F kappa M) _ => rho'.
exact: IH.
Qed.
End Simulation.

(* ---------------------------------------------------------------- what the ideal never does *)
(* A wrong reply was accepted; a reply was rejected. *)
Definition fooled (h : transcript) : bool :=
  has (fun ev => if ev is Accepted x y then y != right x else false) h.
Definition rejected (h : transcript) : bool :=
  has (fun ev => if ev is Rejected _ _ then true else false) h.

Lemma ideal_not_fooled e C Q h p : ~~ fooled h ->
  surely (fun h' => ~~ fooled h') (ideal blind e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h ok //=; last 2 first.
- by apply: IH; rewrite /fooled has_rcons.
- by apply: IH; rewrite /fooled has_rcons.
case: Q => [//|Q] v; case: (david e h _) => [y|] /=; last by apply: IHb; rewrite /fooled has_rcons.
case: eqP => [right_y|_]; last by apply: IHb; rewrite /fooled has_rcons.
by apply: IHn; rewrite /fooled has_rcons /= right_y eqxx.
Qed.

(* -------------------------------------------------------------------------------------- view *)
(* The messages that David received. *)
Definition view (h : transcript) : seq message :=
  pmap (fun ev => match ev with
                  | Accepted x _ => Some x
                  | Rejected x _ => Some x
                  | Lost x => Some x
                  | _ => None
                  end) h.

(* How many residues they hold. *)
Definition residues (v : seq message) : nat := (\sum_(x <- v) N (group x) * columns x)%N.

Lemma residues_cons x v : residues (x :: v) = (N (group x) * columns x + residues v)%N.
Proof. exact: big_cons. Qed.

(* Messages can be compared. *)
Definition message_tag (x : message) : {g : G & {b : nat & 'M[F]_(N g, b)}} :=
  Tagged (fun g => {b : nat & 'M[F]_(N g, b)}) (Tagged (fun b => 'M[F]_(N (group x), b)) (sent x)).
Definition message_untag (z : {g : G & {b : nat & 'M[F]_(N g, b)}}) : message :=
  @Message F G N (tag z) (tag (tagged z)) (tagged (tagged z)).
Lemma message_tagK : cancel message_tag message_untag.
Proof. by case. Qed.
Definition message_eqMixin := CanEqMixin message_tagK.
Canonical message_eqType := EqType message message_eqMixin.

Lemma view_rcons h ev : view (rcons h ev) = view h ++ view [:: ev].
Proof. by rewrite -cats1 /view pmap_cat. Qed.

Lemma masked_injective g b (q : 'M[int]_(N g, b)) : injective (masked q).
Proof.
move=> r r' /(congr1 message_tag)/eqP; rewrite /message_tag /masked /=.
by rewrite eq_Tagged /= => /eqP/eqP; rewrite eq_Tagged => /eqP/mask_injective.
Qed.

Section View.
Hypothesis L_prime : prime prime_L.
Variables (e : environment) (C : factors).
Notation result := (seq secrets * transcript)%type.

(* A run only adds to the record and to the view. *)
Lemma real_adds Q past rho h p :
  surely (fun z => exists rhos v, z.1 = rcons past rho ++ rhos /\ view z.2 = view h ++ v)
         (real e C Q past rho h p).
Proof.
elim: p Q past rho h => [|g b q next IHn broken IHb|out next IH|next IH] Q past rho h /=.
- by exists [::], [::]; rewrite !cats0.
- case: Q => [|Q]; first by exists [::], [::]; rewrite !cats0.
  move=> r; set x := masked q r.
  have renewed Q' ev : view [:: ev] = [:: x] ->
      surely (fun z => exists rhos v, z.1 = rcons past rho ++ rhos /\ view z.2 = view h ++ v)
        (Draw (fun rho' : secrets =>
           real e C Q' (rcons past rho) rho' (rcons h ev) broken)).
    move=> view_ev rho'; apply: sub_surely (IHb _ _ _ _) _ => z [rhos [v [-> ->]]].
    by exists (rho' :: rhos), (x :: v); rewrite cat_rcons view_rcons view_ev -catA.
  case: (david e h x) => [y|]; last exact: renewed.
  case: ifP => _; last exact: renewed.
  apply: sub_surely (IHn _ _ _ _ _) _ => z [rhos [v [-> ->]]].
  by exists rhos, (x :: v); rewrite view_rcons -catA.
- apply: sub_surely (IH _ _ _ _ _) _ => z [rhos [v [-> ->]]].
  by exists rhos, v; rewrite view_rcons cats0.
move=> rho'; apply: sub_surely (IH _ _ _ _) _ => z [rhos [v [-> ->]]].
by exists (rho' :: rhos), v; rewrite cat_rcons view_rcons cats0.
Qed.

(* Drawing, when all but one outcome rule the event out. *)
Lemma average_only (X : finType) (x0 : X) (f : X -> rat) :
  (forall x, x != x0 -> f x = 0) -> \sum_x uniform x * f x = #|X|%:R^-1 * f x0.
Proof.
move=> others; rewrite (bigD1 x0) //= big1 ?addr0 // => x /others ->.
by rewrite mulr0.
Qed.

(* The event that the record is rs and the view is v. *)
Definition is_run (rs : seq secrets) (v : seq message) (z : result) : bool :=
  (z.1 == rs) && (view z.2 == v).

Lemma view_law Q past rho h p rs v :
  let P := chance (is_run (rcons past rho ++ rs) (view h ++ v)) (real e C Q past rho h p) in
  P = 0 \/ P = ((#|secrets| ^ size rs * prime_L ^ residues v)%N%:R)^-1.
Proof.
have stops (a : secrets) (rs' : seq secrets) (v' : seq message) past' h' :
    let P := (is_run (rcons past' a ++ rs') (view h' ++ v') (rcons past' a, h'))%:R : rat in
    P = 0 \/ P = ((#|secrets| ^ size rs' * prime_L ^ residues v')%N%:R)^-1.
  rewrite (_ : is_run _ _ _ = (rs' == [::]) && (v' == [::])) /=; last first.
    rewrite /is_run /= -{1}[rcons past' a]cats0 -{1}[view h']cats0 !eqseq_cat // !eqxx /=.
    by case: (rs'); case: (v').
  case: rs' v' => [|? ?] [|? ?] /=; [right|by left|by left|by left].
  by rewrite /residues big_nil !expn0 muln1 invr1.
have renewed past' a Q' h' p' rs' v' : (forall past rho h rs v,
      let P := chance (is_run (rcons past rho ++ rs) (view h ++ v)) (real e C Q' past rho h p') in
      P = 0 \/ P = ((#|secrets| ^ size rs * prime_L ^ residues v)%N%:R)^-1) ->
    let P := chance (is_run (rcons past' a ++ rs') (view h' ++ v'))
      (Draw (fun rho' : secrets => real e C Q' (rcons past' a) rho' h' p')) in
    P = 0 \/ P = ((#|secrets| ^ size rs' * prime_L ^ residues v')%N%:R)^-1.
  move=> IH; rewrite chance_draw /=; case: rs' => [|a' rs'].
    left; apply: big1 => a' _; rewrite (surely_never (real_adds Q' _ _ _ p')) ?mulr0 //.
    case=> rhos h'' [rs'' [v'' [/= -> _]]]; rewrite /is_run cat_rcons eqseq_cat //.
    by rewrite eqxx.
  rewrite (average_only (x0 := a')) => [|a'' a''_neq]; last first.
    apply: surely_never (real_adds Q' _ _ _ p') _; case=> rhos h'' [rs'' [v'' [/= -> _]]].
    by rewrite /is_run cat_rcons eqseq_cat // eqxx /= eqseq_cons (negPf a''_neq).
  rewrite -cat_rcons; case: (IH (rcons past' a) a' h' rs' v') => ->; first by left; rewrite mulr0.
  by right; rewrite [in RHS]expnS -[in RHS]mulnA [in RHS]natrM [in RHS]invfM.
elim: p Q past rho h rs v => [|g b q next IHn broken IHb|out next IH|next IH] Q past rho h rs v /=.
- exact: stops.
- case: Q => [|Q]; first exact: stops.
  set step := fun r : masks g b => let x := masked q r in _.
  have adds r : surely (fun z => exists rhos v, z.1 = rcons past rho ++ rhos /\
                                   view z.2 = view h ++ masked q r :: v) (step r).
    rewrite /step; set x := masked q r.
    have add_draw Q' ev : view [:: ev] = [:: x] ->
        surely (fun z => exists rhos v, z.1 = rcons past rho ++ rhos /\ view z.2 = view h ++ x :: v)
          (Draw (fun rho' : secrets =>
             real e C Q' (rcons past rho) rho' (rcons h ev) broken)).
      move=> view_ev rho'; apply: sub_surely (real_adds _ _ _ _ _) _ => z [rhos [v' [-> ->]]].
      by exists (rho' :: rhos), v'; rewrite cat_rcons view_rcons view_ev -catA.
    case: (david e h x) => [y|]; last exact: add_draw.
    case: ifP => _; last exact: add_draw.
    apply: sub_surely (real_adds _ _ _ _ _) _ => z [rhos [v' [-> ->]]].
    by exists rhos, v'; rewrite view_rcons -catA.
  have never r : (if v is x :: _ then masked q r != x else true) ->
      chance (is_run (rcons past rho ++ rs) (view h ++ v)) (step r) = 0.
    move=> other; apply: surely_never (adds r) _ => z [rhos [v' [_ view_z]]].
    rewrite /is_run view_z eqseq_cat // eqxx /=.
    by case: v other => [_|x v /negPf other]; rewrite ?eqseq_cons ?other andbF.
  rewrite chance_draw; case: v never => [|x v] never.
    by left; apply: big1 => r _; rewrite never ?mulr0.
  case: (pickP (fun r => masked q r == x)) => [r /eqP r_x|none]; last first.
    by left; apply: big1 => r _; rewrite never ?mulr0 ?none.
  rewrite (average_only (x0 := r)) => [|r' r'_neq]; last first.
    by apply: never; rewrite -r_x; apply: contra r'_neq => /eqP/masked_injective ->.
  subst x; set x := masked q r in never *.
  have after : let P := chance (is_run (rcons past rho ++ rs) (view h ++ x :: v)) (step r) in
      P = 0 \/ P = ((#|secrets| ^ size rs * prime_L ^ residues v)%N%:R)^-1.
    have seen ev : view [:: ev] = [:: x] -> view h ++ x :: v = view (rcons h ev) ++ v.
      by move=> view_ev; rewrite view_rcons view_ev -catA.
    rewrite /step -/x; case: (david e h x) => [y|]; last first.
      by rewrite (seen (Lost x)) //; apply: renewed (IHb _).
    case: ifP => _; last by rewrite (seen (Rejected y)) //; apply: renewed (IHb _).
    by rewrite (seen (Accepted y)) //; apply: IHn.
  case: after => ->; first by left; rewrite mulr0.
  right; rewrite card_masks //.
  transitivity (((#|secrets| ^ size rs * prime_L ^ (N g * b + residues v))%N%:R)^-1 : rat).
    by rewrite expnD [in RHS]mulnCA [in RHS]natrM [in RHS]invfM.
  by congr (_%:R^-1); congr (_ * _ ^ _)%N; apply: esym; apply: residues_cons.
- have := IH (user e h out) Q past rho (rcons h (Answered out (user e h out))) rs v.
  by rewrite view_rcons cats0.
have := renewed past rho Q (rcons h Renewed) next rs v (IH Q).
by rewrite view_rcons cats0.
Qed.
End View.

(* ---------------------------------------------------------------------------- fixed schedule *)
(* The groups and numbers of columns of messages. *)
Definition schedule (v : seq message) : seq (G * nat) := [seq (group x, columns x) | x <- v].

(* Whatever the products and the inputs are, the program sends messages of these shapes. *)
Fixpoint keeps_schedule (shapes : seq (G * nat)) (p : program) : Prop :=
  match p with
  | Stop => shapes = [::]
  | Call g b q next broken =>
      if shapes is (g', b') :: rest
      then [/\ g' = g, b' = b & forall y, keeps_schedule rest (next y)] else False
  | Answer out next => forall i, keeps_schedule shapes (next i)
  | Renew next => keeps_schedule shapes next
  end.

Lemma ideal_adds e C Q h p :
  surely (fun h' => exists v, view h' = view h ++ v) (ideal blind e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> m; set x := Message m.
  case: (david e h x) => [y|]; [case: ifP => _|].
  + by apply: sub_surely (IHn _ _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
- by apply: sub_surely (IH _ _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
by apply: sub_surely (IH _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
Qed.

Lemma ideal_uniform e C Q h p shapes v : prime prime_L ->
  (forall h x, david e h x = Some (right x)) -> keeps_schedule shapes p -> schedule v = shapes ->
  chance (fun h' => view h' == view h ++ v) (ideal blind e C Q.+1 h p)
    = ((prime_L ^ residues v)%N%:R)^-1.
Proof.
move=> L_prime honest.
elim: p h shapes v => [|g b q next IHn broken IHb|out next IH|next IH] h shapes v /=.
- by move=> ->; case: v => // _;
    rewrite /= /chance cats0 eqxx /residues big_nil expn0 invr1.
- case: shapes => [//|[g' b'] rest] [-> -> keeps]; case: v => [//|[g0 b0 m] v] /= [eg eb sv].
  subst g0 b0; rewrite chance_draw (average_only (x0 := m)) => [|m' m'_neq]; last first.
    rewrite honest eqxx; apply: surely_never (ideal_adds _ _ _ _ _) _ => h' [v' ->].
    rewrite view_rcons -catA eqseq_cat // eqxx /= eqseq_cons -(inj_eq (can_inj message_tagK)).
    by rewrite /message_tag /= eq_Tagged /= -/(Tagged _ _) eq_Tagged /= (negPf m'_neq).
  rewrite honest eqxx; set x := Message m.
  have -> : view h ++ x :: v = view (rcons h (Accepted (right x))) ++ v.
    by rewrite view_rcons -catA.
  rewrite (IHn _ _ _ _ (keeps _) sv) card_masks //.
  transitivity (((prime_L ^ (N g * b + residues v))%N%:R)^-1 : rat).
    by rewrite expnD [in RHS]natrM [in RHS]invfM.
  by congr (_%:R^-1); congr (_ ^ _)%N; apply: esym; apply: residues_cons.
- by move=> keeps sv; have := IH _ (rcons h (Answered out (user e h out))) _ _ (keeps _) sv;
    rewrite view_rcons cats0.
- by move=> keeps sv; have := IH (rcons h Renewed) _ _ keeps sv; rewrite view_rcons cats0.
Qed.
End Sessions.

(* ----------------------------------------------------------------------------------- outputs *)
Section Outputs.
Variables (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (prime_L t : nat).
Variables (W_D : forall g, 'M[int]_(M g, N g)) (C : @factors G M N).
Notation program := (@program G M N In Out).
Notation transcript := (@transcript G M N In Out prime_L).

(* Everything in the transcript, outputs above all, is what the unsplit model gives on the inputs in
   it, with sessions that break where they break in it. *)
Fixpoint faithful (p : program) (h : transcript) : bool :=
  match p, h with
  | _, [::] => true
  | Answer out next, Answered out' i :: h' => (out' == out) && faithful (next i) h'
  | Call g b q next broken, Accepted x y :: h' =>
      ((group x, columns x) == (g, b)) && faithful (next (unsplit_product t W_D C q)) h'
  | Call g b q next broken, Rejected x y :: h' =>
      ((group x, columns x) == (g, b)) && faithful broken h'
  | Call g b q next broken, Lost x :: h' => ((group x, columns x) == (g, b)) && faithful broken h'
  | Renew next, Renewed :: h' => faithful next h'
  | _, _ => false
  end.

Lemma ideal_faithful e Q h p :
  surely (fun h' => exists tail, h' = h ++ tail /\ faithful p tail)
    (ideal t W_D (blind prime_L W_D) e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> v; set x := Message _.
  case: (david e h x) => [y|]; [case: ifP => _|].
  + apply: sub_surely (IHn _ _ _) _ => h' [tail [-> ok]].
    by exists (Accepted In Out y :: tail); rewrite cat_rcons /= eqxx.
  + apply: sub_surely (IHb _ _) _ => h' [tail [-> ok]].
    by exists (Rejected In Out y :: tail); rewrite cat_rcons /= eqxx.
  + apply: sub_surely (IHb _ _) _ => h' [tail [-> ok]].
    by exists (Lost M In Out x :: tail); rewrite cat_rcons /= eqxx.
- apply: sub_surely (IH _ _ _) _ => h' [tail [-> ok]].
  by exists (Answered M N prime_L out (user e h out) :: tail); rewrite cat_rcons /= eqxx.
apply: sub_surely (IH _ _) _ => h' [tail [-> ok]].
by exists (Renewed M N In Out prime_L :: tail); rewrite cat_rcons.
Qed.

Hypothesis L_prime : prime prime_L.
Variable qa : G -> nat.
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.

(* With David always right, or silent: whatever the masks and rho are, nothing is rejected, and all
   outputs are the unsplit model's. *)
Lemma real_faithful kappa e Q past rho h p : truthful W_D e -> admissible t W_D C qa p ->
  surely (fun z => exists tail, z.2 = h ++ tail /\ faithful p tail && ~~ rejected tail)
    (real (kappa := kappa) t W_D e C Q past rho h p).
Proof.
move=> truth.
elim: p Q past rho h => [|g b q next IHn broken IHb|out next IH|next IH] Q past rho h /=.
- by exists [::]; rewrite cats0.
- case=> q_in next_in broken_in; case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> r; case d: (david e h _) => [y|] => [|rho'].
    rewrite (truth _ _ _ d) verdict_right (unmasked_right t L_prime C L_ge r q_in).
    apply: sub_surely (IHn _ _ _ _ _ next_in) _ => z [tail [-> ok]].
    by exists (Accepted In Out (right W_D (masked q r)) :: tail); rewrite cat_rcons /= eqxx.
  apply: sub_surely (IHb _ _ _ _ broken_in) _ => z [tail [-> ok]].
  by exists (Lost M In Out (masked q r) :: tail); rewrite cat_rcons /= eqxx.
- move=> in_all; apply: sub_surely (IH _ _ _ _ _ (in_all _)) _ => z [tail [-> ok]].
  by exists (Answered M N prime_L out (user e h out) :: tail); rewrite cat_rcons /= eqxx.
move=> next_in rho'; apply: sub_surely (IH _ _ _ _ next_in) _ => z [tail [-> ok]].
by exists (Renewed M N In Out prime_L :: tail); rewrite cat_rcons.
Qed.
End Outputs.

(* --------------------------------------------------------------------------------- whole runs *)
(* omega is all that is fixed before masks and rho are drawn: Charlie's part of the model, his
   program with the secrets in it, the environment with its coins and whatever it knows. *)
Section Runs.
Variables (G : finType) (M N : G -> nat) (In Out : Type) (prime_L kappa t : nat).
Variables (W_D : forall g, 'M[int]_(M g, N g)) (qa : G -> nat).
Variables (Omega : finType) (mu : Omega -> rat).
Variables (e : Omega -> @environment G M N In Out prime_L) (C : Omega -> @factors G M N).
Variables (p : Omega -> @program G M N In Out) (Q : nat).
Notation transcript := (@transcript G M N In Out prime_L).
Notation secrets := (@secrets [finFieldType of 'F_prime_L] kappa G M).
Notation real_runs := (fun w => real_run kappa t W_D (e w) (C w) Q (p w)).
Notation ideal_runs := (fun w => ideal_run t W_D (blind prime_L W_D) (e w) (C w) Q (p w)).
Hypotheses (L_prime : prime prime_L) (mu_dist : distribution mu).

(* One prior and one run: the weight of what is fixed, the rhos and the view together. *)
Lemma run_law (w : Omega) (rhos : seq secrets)
    (v : seq (@message [finFieldType of 'F_prime_L] G N)) :
  let P := chance_over mu real_runs
             (fun z => [&& z.1 == w, z.2.1 == rhos & view z.2.2 == v]) in
  P = 0 \/ P = mu w / (#|secrets| ^ size rhos * prime_L ^ residues v)%N%:R.
Proof.
rewrite /chance_over (bigD1 w) //= [X in _ + X]big1 => [|w' /negbTE w'_neq]; last first.
  by rewrite (eq_chance (E' := xpred0)) ?chance_never ?mulr0 // => z; rewrite w'_neq.
rewrite addr0 eqxx /=; case: rhos => [|rho rhos].
  left; rewrite chance_draw big1 ?mulr0 // => rho _.
  rewrite (surely_never (real_adds t W_D (e w) (C w) Q _ rho _ (p w))) ?mulr0 //.
  by case=> a h [rhos' [v' [/= -> _]]].
rewrite chance_draw (average_only (x0 := rho)) => [|rho' rho'_neq]; last first.
  apply: surely_never (real_adds t W_D (e w) (C w) Q _ rho' _ (p w)) _ => z [rhos' [v' [-> _]]].
  by rewrite /= eqseq_cons (negPf rho'_neq).
case: (view_law t W_D L_prime (e w) (C w) Q [::] rho [::] (p w) rhos v); rewrite /is_run /= => ->.
  by left; rewrite !mulr0.
by right; rewrite expnS -[in RHS]mulnA [in RHS]natrM [in RHS]invfM.
Qed.

(* A David who is always right, and a program with a fixed schedule: the view is uniform, and
   independent of all that is fixed. *)
Lemma run_uniform (D : pred Omega) (shapes : seq (G * nat))
    (v : seq (@message [finFieldType of 'F_prime_L] G N)) :
  (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N) -> (0 < Q)%N ->
  (forall w, admissible t W_D (C w) qa (p w)) ->
  (forall w h x, david (e w) h x = Some (right W_D x)) ->
  (forall w, keeps_schedule shapes (p w)) -> schedule v = shapes ->
  chance_over mu real_runs (fun z => D z.1 && (view z.2.2 == v))
    = Pr mu D / (prime_L ^ residues v)%N%:R.
Proof.
move=> L_ge Q_gt0 adm honest keeps sv; rewrite /chance_over /Pr mulr_suml [RHS]big_mkcond /=.
apply: eq_bigr => w _; case: (D w) => /=; last first.
  by rewrite chance_never mulr0.
congr (_ * _); rewrite chance_draw; apply: average_same (card_secrets_gt0 _ _ _) _ => rho.
have truth : truthful W_D (e w) by move=> h x y; rewrite honest => -[].
rewrite (real_truthful L_prime L_ge (fun h => view h == v) Q [::] rho [::] truth (adm w)).
by case: Q Q_gt0 => // Q' _; apply: (ideal_uniform t _ Q' [::] L_prime (honest w) (keeps w) sv).
Qed.

Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.
Hypothesis adm : forall w, admissible t W_D (C w) qa (p w).

(* What the environment sees and gets is, together with all that is fixed, within Q L^-kappa of the
   ideal. *)
Theorem simulation (J : Omega * transcript -> bool) :
  `|chance_over mu real_runs (fun z => J (z.1, z.2.2)) - chance_over mu ideal_runs J|
    <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof.
apply: average_close mu_dist _ => w; rewrite chance_draw.
exact: (real_ideal L_prime (e w) L_ge (fun h => J (w, h)) Q [::] [::] (adm w)).
Qed.

(* What never happens in the ideal is rare in the protocol. *)
Lemma real_rare (bad : Omega -> transcript -> bool) :
  (forall w, surely (fun h => ~~ bad w h)
               (ideal_run t W_D (blind prime_L W_D) (e w) (C w) Q (p w))) ->
  chance_over mu real_runs (fun z => bad z.1 z.2.2) <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof.
move=> never; have := simulation (fun z => bad z.1 z.2).
rewrite [X in _ - X](_ : _ = 0) ?subr0 => [close|]; first exact: le_trans (ler_norm _) close.
by apply: big1 => w _; rewrite (surely_never (never w)) ?mulr0 // => h /negPf.
Qed.

Lemma real_fooled :
  chance_over mu real_runs (fun z => fooled W_D z.2.2) <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof. by apply: (real_rare (bad := fun _ => fooled W_D)) => w; apply: ideal_not_fooled. Qed.
End Runs.

Lemma real_unfaithful (G : finType) (M N : G -> nat) (In : Type) (Out : eqType)
    (prime_L kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (qa : G -> nat) (Omega : finType)
    (mu : Omega -> rat) (e : Omega -> @environment G M N In Out prime_L)
    (C : Omega -> @factors G M N) (p : Omega -> @program G M N In Out) (Q : nat) :
  prime prime_L -> distribution mu ->
  (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N) ->
  (forall w, admissible t W_D (C w) qa (p w)) ->
  chance_over mu (fun w => real_run kappa t W_D (e w) (C w) Q (p w))
    (fun z => ~~ faithful t W_D (C z.1) (p z.1) z.2.2) <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof.
move=> L_prime mu_dist L_ge adm.
apply: (@real_rare G M N In Out prime_L kappa t W_D qa Omega mu e C p Q L_prime mu_dist L_ge adm
          (fun w h => ~~ faithful t W_D (C w) (p w) h)) => w.
by apply: sub_surely (ideal_faithful _ _ _ _ _ _ _) _ => h [tail [-> ok]]; rewrite negbK.
Qed.

Lemma real_run_faithful (G : finType) (M N : G -> nat) (In : Type) (Out : eqType)
    (prime_L kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (qa : G -> nat)
    (e : @environment G M N In Out prime_L) (C : @factors G M N) (p : @program G M N In Out)
    (Q : nat) :
  prime prime_L -> (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N) ->
  admissible t W_D C qa p -> truthful W_D e ->
  surely (fun z => faithful t W_D C p z.2 && ~~ rejected z.2) (real_run kappa t W_D e C Q p).
Proof.
move=> L_prime L_ge adm truth rho.
by apply: sub_surely (real_faithful L_prime L_ge Q [::] rho [::] truth adm) _ => z [tail [-> ok]].
Qed.

Lemma simulation_one_reject (G : finType) (M N : G -> nat) (In Out : Type) (prime_L kappa t : nat)
    (W_D : forall g, 'M[int]_(M g, N g)) (qa : G -> nat) (Omega : finType) (mu : Omega -> rat)
    (e : Omega -> @environment G M N In Out prime_L) (C : Omega -> @factors G M N)
    (p : Omega -> @program G M N In Out) :
  prime prime_L -> distribution mu ->
  (forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N) ->
  (forall w, admissible t W_D (C w) qa (p w)) ->
  forall J : Omega * @transcript G M N In Out prime_L -> bool,
  `|chance_over mu (fun w => real_run kappa t W_D (e w) (C w) 1 (p w)) (fun z => J (z.1, z.2.2))
    - chance_over mu (fun w => ideal_run t W_D (blind prime_L W_D) (e w) (C w) 1 (p w)) J|
    <= (prime_L%:R ^+ kappa)^-1.
Proof.
move=> L_prime mu_dist L_ge adm J; rewrite -[X in _ <= X]mul1r.
exact: (@simulation G M N In Out prime_L kappa t W_D qa Omega mu e C p 1
          L_prime mu_dist L_ge adm J).
Qed.
